/* openssl_calls.h - the functions of OpenSSL that this folder calls, for openssl.h.
 *
 * FL_OPENSSL_CALLS(X) yields X(name) for each. A call of any other function fails to link, because the program is not
 * linked with OpenSSL.
 */
#pragma once

#define FL_OPENSSL_CALLS(X) \
	X(ASN1_INTEGER_set) X(ASN1_OCTET_STRING_free) X(ASN1_STRING_get0_data) X(ASN1_STRING_length) \
	X(ASN1_TIME_to_tm) X(BIO_clear_flags) X(BIO_free) X(BIO_get_data) X(BIO_meth_free) X(BIO_meth_new) \
	X(BIO_meth_set_ctrl) X(BIO_meth_set_read_ex) X(BIO_meth_set_write_ex) X(BIO_new) X(BIO_new_mem_buf) \
	X(BIO_s_mem) X(BIO_set_data) X(BIO_set_flags) X(BIO_set_init) X(BIO_up_ref) X(ERR_clear_error) \
	X(ERR_get_error) X(ERR_peek_error) X(ERR_peek_last_error) X(ERR_reason_error_string) X(EVP_PKEY_Q_keygen) \
	X(EVP_PKEY_free) X(EVP_sha256) X(GENERAL_NAMES_free) X(OPENSSL_sk_num) X(OPENSSL_sk_value) \
	X(OpenSSL_version) X(OpenSSL_version_num) X(PEM_read_bio_PrivateKey) X(PEM_read_bio_X509) \
	X(PEM_write_bio_X509) X(SSL_CTX_add_client_CA) X(SSL_CTX_check_private_key) X(SSL_CTX_ctrl) X(SSL_CTX_free) \
	X(SSL_CTX_get_cert_store) X(SSL_CTX_new) X(SSL_CTX_set_alpn_protos) X(SSL_CTX_set_alpn_select_cb) \
	X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_options) X(SSL_CTX_set_verify) X(SSL_CTX_use_PrivateKey) \
	X(SSL_CTX_use_certificate) X(SSL_ctrl) X(SSL_do_handshake) X(SSL_free) X(SSL_get0_alpn_selected) \
	X(SSL_get0_param) X(SSL_get0_peer_certificate) X(SSL_get_error) X(SSL_get_ex_data) \
	X(SSL_get_ex_data_X509_STORE_CTX_idx) X(SSL_get_verify_result) X(SSL_is_init_finished) X(SSL_new) \
	X(SSL_read_ex) X(SSL_select_next_proto) X(SSL_set1_host) X(SSL_set_accept_state) X(SSL_set_bio) \
	X(SSL_set_connect_state) X(SSL_set_ex_data) X(SSL_set_hostflags) X(SSL_shutdown) X(SSL_use_PrivateKey) \
	X(SSL_use_certificate) X(SSL_write_ex) X(TLS_client_method) X(TLS_server_method) X(X509_NAME_ENTRY_get_data) \
	X(X509_NAME_add_entry_by_txt) X(X509_NAME_dup) X(X509_NAME_free) X(X509_NAME_get_entry) \
	X(X509_NAME_get_index_by_NID) X(X509_STORE_CTX_get_current_cert) X(X509_STORE_CTX_get_error_depth) \
	X(X509_STORE_CTX_get_ex_data) X(X509_STORE_add_cert) X(X509_VERIFY_PARAM_set1_ip) X(X509_free) \
	X(X509_get0_notAfter) X(X509_get0_notBefore) X(X509_get_ext_d2i) X(X509_get_serialNumber) \
	X(X509_get_subject_name) X(X509_getm_notAfter) X(X509_getm_notBefore) X(X509_gmtime_adj) X(X509_new) \
	X(X509_set_issuer_name) X(X509_set_pubkey) X(X509_sign) X(X509_up_ref) X(X509_verify_cert_error_string) \
	X(a2i_IPADDRESS)
